// The events around the playhead, of all jobs or of the picked one.

const before = 60, after = 60;

class Story {
  constructor(app) {
    this.app = app;
    this.title = el('h2', null, 'What happened');
    this.list = el('ol', {class: 'story'});
    fill(byId('story'), this.title, this.list);
    let due;
    app.playhead.on(() => {
      if (due) return;
      due = setTimeout(() => { due = undefined; this.draw(); }, 150);
    });
  }

  draw() {
    if (this.app.live && this.list.contains(document.activeElement)) return;
    const {model, playhead, picked} = this.app;
    byId('story').hidden = model.rec.events.length === 0;
    const events = picked ? model.rec.events.filter((e) => e.job === picked) : model.rec.events;
    this.title.textContent = picked ? `What happened to ${picked}` : 'What happened';
    let now = events.findIndex((e) => e.at > playhead.time + 1e-9);
    if (now < 0) now = events.length;
    const from = Math.max(0, now - before), to = Math.min(events.length, now + after);
    const items = events.slice(from, to).map((e, i) => this.item(e, from + i === now - 1, from + i >= now));
    if (from > 0) items.unshift(el('li', {class: 'more'}, `${from} earlier`));
    if (to < events.length) items.push(el('li', {class: 'more'}, `${events.length - to} later`));
    fill(this.list, items);
    const current = this.list.querySelector('[aria-current]');
    if (current) this.list.scrollTop = current.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
    else this.list.scrollTop = 0;
  }

  item(e, current, future) {
    const late = e.since ? ` (${fmtDuration(e.latency || 0)} after ${e.since})` : '';
    return el('li', {'aria-current': current ? 'step' : undefined, class: future ? 'future' : undefined},
      this.app.jump(e.at), el('span', {class: 'who'}, e.job || 'fleet'), el('span', {class: 'what'}, e.what), el('span', null, e.text + late));
  }
}
