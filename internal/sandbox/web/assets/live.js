// Keeps a live page up to date, and submits jobs.

// Lists of a recording that grow or change entry by entry.
const liveLists = ['nodes', 'queues', 'jobs', 'workloads', 'pods', 'events', 'checks', 'comparisons', 'violations'];

class Link {
  constructor(app) {
    this.app = app;
    this.state = 'connecting';
    app.playhead.follow();
    this.connect();
    this.actions();
  }

  // connect opens the stream of changes. The browser connects again by
  // itself and says which change it has seen last; the server then sends
  // what is missing, or everything.
  connect() {
    this.source = new EventSource('events?since=' + encodeURIComponent(this.app.page.since || ''));
    this.source.addEventListener('open', () => this.show('live'));
    this.source.addEventListener('error', () => this.show(this.source.readyState === EventSource.CLOSED ? 'closed' : 'lost'));
    this.source.addEventListener('all', (e) => this.take(JSON.parse(e.data), true));
    this.source.addEventListener('some', (e) => this.take(JSON.parse(e.data), false));
    this.source.addEventListener('end', () => {
      this.source.close();
      this.show('closed');
    });
  }

  // take puts changed entries into the recording. An entry is known by its
  // place in its list.
  take(change, all) {
    const run = this.app.runs[0];
    const rec = change.recording;
    for (const name of liveLists) {
      rec[name] = (!all && run.recording[name]) || [];
      for (const [place, entry] of (change.lists || {})[name] || []) rec[name][place] = entry;
      rec[name].length = (change.lengths || {})[name] || 0;
    }
    run.recording = rec;
    if (change.figures) run.figures = change.figures;
    this.app.refresh();
  }

  show(state) {
    this.state = state || this.state;
    const badge = byId('link');
    if (!badge) return;
    badge.hidden = false;
    const text = {connecting: 'connecting', live: 'live', lost: 'connection lost, trying again', closed: 'the fleet has ended'}[this.state];
    if (badge.textContent !== text) badge.textContent = text;
    badge.className = 'badge ' + ({live: 'good', lost: 'bad', closed: 'warn'}[this.state] || '');
  }

  actions() {
    const {actions, token} = this.app.page;
    const section = byId('actions');
    if (!actions || !actions.length) return;
    section.hidden = false;
    const result = el('p', {class: 'why', role: 'status'});
    fill(section, el('h2', null, 'Submit'), token
      ? el('div', {class: 'actions'}, actions.map((action) => el('button', {type: 'button', class: 'action', on: {click: (e) => this.submit(action, e.currentTarget, result)}}, el('b', null, action.title), el('span', null, action.description))))
      : el('p', {class: 'why'}, 'This page only shows. With --allow-changes it submits: ' + actions.map((action) => action.title).join(', ') + '.'), result);
  }

  async submit(action, button, result) {
    button.disabled = true;
    result.textContent = `Submitting ${action.title} …`;
    try {
      const answer = await fetch('actions/' + encodeURIComponent(action.name), {method: 'POST', headers: {'X-Fleet-Token': this.app.page.token}});
      const text = (await answer.text()).trim();
      result.textContent = answer.ok ? text : `${action.title} was refused: ${text}`;
    } catch {
      result.textContent = `${action.title} could not be submitted: no connection`;
    }
    button.disabled = false;
  }
}

// refresh takes in that a live run has changed. At most one drawing is under
// way: what comes in the meantime is in the next. Parts that a user may be in
// the middle of are drawn seldom or only where they changed.
App.prototype.refresh = function () {
  if (this.refreshing) return;
  this.refreshing = true;
  setTimeout(() => {
    this.refreshing = false;
    this.model = new Model(this.runs[0]);
    this.playhead.extend(this.model.duration);
    drawHead(this);
    drawVerdict(this);
    this.stage.draw();
    this.jobs.refresh();
    const now = performance.now();
    if (this.figuresDrawn && now - this.figuresDrawn < 3000 || byId('figures').contains(document.activeElement)) return;
    this.figuresDrawn = now;
    this.figures.draw();
    this.checks.draw();
  }, 0);
};
