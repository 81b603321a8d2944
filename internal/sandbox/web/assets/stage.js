// The stage: chart, playhead and board, with the queue beside it.

class Stage {
  constructor(app) {
    this.app = app;
    this.chart = new Chart(app);
    this.board = new Board(app);
    this.queue = new Queue(app);
    this.total = el('strong', {class: 'num'});
    this.clock = el('output', {class: 'clock num'});
    this.slider = el('input', {type: 'range', min: 0, max: 1000, value: 0, step: 'any', 'aria-label': 'Time', on: {input: () => {
      app.playhead.pause();
      app.playhead.seek(this.slider.value / 1000 * app.model.duration);
    }}});
    this.play = el('button', {type: 'button', class: 'play', on: {click: () => app.playhead.toggle()}});
    const step = (direction, label, text) => el('button', {type: 'button', 'aria-label': label, title: label, on: {click: () => app.playhead.step(direction, app.model.moments())}}, text);
    this.rate = el('select', {'aria-label': 'Speed', on: {change: () => { app.playhead.rate = +this.rate.value; }}},
      [['0.25', '¼ ×'], ['0.5', '½ ×'], ['1', '1 ×'], ['2', '2 ×'], ['4', '4 ×']].map(([value, text]) => el('option', {value, selected: value === '1'}, text)));
    this.live = el('button', {type: 'button', class: 'live', hidden: true, on: {click: () => app.playhead.follow()}}, 'Live');
    this.transport = el('div', {class: 'transport', role: 'group', 'aria-label': 'Playback'},
      this.play, step(-1, 'To the change before', icon('last')), step(1, 'To the next change', icon('next')), this.slider, this.clock, this.rate, this.live);
    this.by = el('div', {class: 'choice', role: 'group', 'aria-label': 'Colour by'}, ['job', 'priority', 'class'].map((by) =>
      el('button', {type: 'button', 'data-by': by, on: {click: () => app.setBy(by)}}, 'by ' + by)));
    this.tableBox = el('details', {class: 'as-table', on: {toggle: () => { if (this.tableBox.open) this.drawTable(); }}}, el('summary', null, 'The board as a table'), el('div'));
    fill(byId('stage'),
      el('div', {class: 'stage-head'}, el('h2', null, 'The fleet through time'), this.by),
      this.chart.node, this.transport,
      el('div', {class: 'split'},
        el('div', {class: 'board-side'}, el('div', {class: 'board-head'}, el('h3', null, 'Nodes and their GPUs: ', this.total), this.legend()), this.board.node, this.queue.holders, this.tableBox),
        this.queue.node));
    app.playhead.on(() => this.moved());
  }

  legend() {
    const swatch = (kind, text) => el('span', {class: 'swatch'}, el('i', {class: kind}), text);
    return el('div', {class: 'legend', 'aria-hidden': 'true'}, swatch('ready', 'ready'), swatch('starting', 'starting'), swatch('draining', 'draining, still held'), swatch('free', 'free'));
  }

  // draw draws all anew; moved only what depends on the playhead.
  draw() {
    const {model, by} = this.app;
    for (const button of this.by.children) {
      button.setAttribute('aria-pressed', String(button.dataset.by === by));
      button.hidden = button.dataset.by === 'class' && model.classes.join() === NONE;
    }
    this.live.hidden = !this.app.live;
    this.chart.draw();
    this.moved();
    // For those who search the page, or print it.
    if (!this.app.live) this.drawTable();
  }

  moved() {
    const {model, playhead} = this.app;
    this.chart.move();
    this.slider.value = String(playhead.time / model.duration * 1000);
    const time = this.app.clock(playhead.time);
    this.clock.textContent = time;
    this.slider.setAttribute('aria-valuetext', time);
    this.chart.cursor.firstChild.textContent = time;
    this.chart.cursor.classList.toggle('late', playhead.time > model.duration * 0.8);
    if (this.shownPlaying !== playhead.playing) fill(this.play, icon(playhead.playing ? 'pause' : 'play'));
    this.shownPlaying = playhead.playing;
    this.play.setAttribute('aria-label', playhead.playing ? 'Pause' : 'Play');
    this.live.setAttribute('aria-pressed', String(playhead.follows));
    this.board.draw();
    this.queue.draw();
    if (!playhead.playing && this.tableBox.open) this.drawTable();
  }

  showTotal(total) {
    const {model, playhead} = this.app;
    const text = `${total} of ${model.capacity} held`;
    if (this.total.textContent !== text) this.total.textContent = text;
    this.board.canvas.setAttribute('aria-label', `Board at ${this.app.clock(playhead.time)}: ${text}. The same as a table is below.`);
  }

  drawTable() {
    const {model, playhead} = this.app;
    const t = playhead.time;
    const rows = model.gpuNodes.map((node) => {
      const pods = (model.nodePods.get(node.name) || []).filter((pod) => pod.gpus && pod.bound <= t && t < model.goneAt(pod));
      const away = model.awayAt(node, t);
      return [node.name, [node.block, node.rack].filter(Boolean).join(' · '), `${pods.reduce((sum, pod) => sum + pod.gpus, 0)} of ${node.gpus}`,
        pods.map((pod) => `${pod.job || OUTSIDE}: ${pod.gpus} (${model.phase(pod, t)})`).join(', ') + (away ? ' ' + away.why : '')];
    });
    fill(this.tableBox.lastChild, table('Nodes at ' + this.app.clock(t), [['Node', 'Place', 'GPUs held', 'Pods'], ...rows]));
  }
}
