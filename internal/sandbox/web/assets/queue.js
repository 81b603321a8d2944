// Lists what waits at the playhead and why, and what holds GPUs.

const stateWords = {pending: 'waits', 'backing-off': 'backs off', draining: 'drains', inactive: 'is inactive'};
const shownQueue = 24, shownHolders = 14;

class Queue {
  constructor(app) {
    this.app = app;
    this.list = el('ol', {class: 'queue'});
    this.title = el('h3', null, 'Queue');
    this.holders = el('div', {class: 'holders'});
    this.node = el('div', {class: 'queue-box'}, this.title, this.list);
  }

  draw() {
    const {app} = this, {model, playhead} = app;
    const t = playhead.time;
    const entries = model.queueAt(t);
    const waiting = entries.filter((e) => e.span.state !== 'draining');
    const gpus = waiting.reduce((sum, e) => sum + Math.max(0, e.span.gpus - (e.growsFrom || 0)), 0);
    this.title.textContent = waiting.length ? `Queue: ${plural(waiting.length, 'Workload')}, ${plural(gpus, 'GPU')}` : 'Queue: nothing waits';
    const signature = isDark() + app.by + app.picked + entries.map((e) => e.wl.uid + e.span.from).join();
    if (signature !== this.drawn || this.drawnFor !== model) {
      this.drawn = signature;
      this.drawnFor = model;
      const items = entries.slice(0, shownQueue).map((e) => this.item(e));
      if (entries.length > shownQueue) items.push(el('li', {class: 'more'}, `and ${entries.length - shownQueue} more`));
      fill(this.list, items);
      this.shown = entries.slice(0, shownQueue);
    }
    (this.shown || []).forEach((e, i) => { this.list.children[i].querySelector('.since').textContent = fmtDuration(Math.max(0, t - e.since) * model.scale); });
    this.drawHolders(t);
  }

  item(e) {
    const {app} = this;
    const wants = e.span.state === 'draining' ? `${plural(e.span.gpus, 'GPU')} still held`
      : e.growsFrom !== undefined ? `grow from ${e.growsFrom} to ${plural(e.span.gpus, 'GPU')}` : plural(e.span.gpus, 'GPU');
    const why = [e.span.reason, e.span.message].filter(Boolean).join(': ');
    return el('li', {class: 'state-' + e.span.state},
      el('div', {class: 'line'},
        el('button', {type: 'button', class: 'link', 'aria-pressed': app.picked === e.job, on: {click: () => app.pick(e.job)}},
          el('span', {class: 'dot', style: {'--dot': app.model.colors.of('job', e.job)}}), e.job + (e.wl.group ? ' / ' + e.wl.group : '')),
        badge(e.priority), el('span', {class: 'wants'}, wants)),
      el('div', {class: 'why'}, el('span', null, stateWords[e.span.state] || e.span.state), ' ', el('span', {class: 'since num'}), why ? ' · ' + why : ''));
  }

  // drawHolders shows who holds how many GPUs, the largest first.
  drawHolders(t) {
    const {app} = this, {model, by} = app;
    const {held, total} = model.heldAt(t, by);
    app.total(total);
    const list = [...held].sort((a, b) => b[1] - a[1] || natural(a[0], b[0]));
    const signature = isDark() + by + app.picked + list.join();
    if (signature === this.drawnHolders && this.holdersFor === model) return;
    this.drawnHolders = signature;
    this.holdersFor = model;
    const focused = this.holders.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const items = list.slice(0, shownHolders).map(([key, gpus]) => this.holder(key, gpus));
    if (list.length > shownHolders) items.push(el('span', {class: 'more'}, `and ${list.length - shownHolders} more`));
    fill(this.holders, items);
    if (focused) for (const child of this.holders.children) if (child.dataset.key === focused) child.focus();
  }

  holder(key, gpus) {
    const {app} = this;
    const inside = [el('span', {class: 'dot', style: {'--dot': app.model.colors.of(app.by, key)}}), key, el('b', {class: 'num'}, gpus)];
    if (app.by !== 'job' || key === OUTSIDE) return el('span', {class: 'holder'}, inside);
    return el('button', {type: 'button', class: 'holder', 'data-key': key, 'aria-pressed': app.picked === key, on: {click: () => app.pick(key)}}, inside);
  }
}
