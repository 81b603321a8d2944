// Puts the page together.

class App {
  constructor(page) {
    this.page = page;
    this.live = Boolean(page.live);
    this.runs = page.runs || [];
    this.by = this.runs.some((run) => run.recording.filling) ? 'class' : 'job';
    this.playhead = new Playhead();
    this.labelRuns();
    this.load();
    readTheme();
    this.openRun(this.index || 0, true);
    this.stage = new Stage(this);
    this.checks = new Checks(this);
    this.jobs = new Jobs(this);
    this.figures = new Figures(this);
    this.story = new Story(this);
    this.playhead.on(() => this.save());
    this.draw();
    // An empty fleet is no picture to begin with.
    if (this.startAt === undefined && !this.live) this.startAt = this.model.fullest();
    if (this.startAt !== undefined) this.playhead.seek(this.startAt);
    this.listen();
  }

  // labelRuns names the runs by manager, and by scenario and number where
  // that does not tell them apart.
  labelRuns() {
    const scenarios = new Set(this.runs.map((run) => run.recording.scenario));
    const count = new Map();
    for (const run of this.runs) {
      const key = run.recording.scenario + '\n' + run.recording.manager.name;
      run.nth = (count.get(key) || 0) + 1;
      count.set(key, run.nth);
    }
    for (const run of this.runs) {
      const {scenario, manager} = run.recording;
      // Beside runs of its own scenario, the manager is enough.
      run.arm = manager.name + (count.get(scenario + '\n' + manager.name) > 1 ? ' #' + run.nth : '');
      run.label = (scenarios.size > 1 ? scenario + ': ' : '') + run.arm;
    }
  }

  openRun(index, first) {
    this.index = Math.min(Math.max(0, index), this.runs.length - 1);
    this.model = new Model(this.runs[this.index]);
    if (this.picked && !this.model.jobs.has(this.picked)) this.picked = undefined;
    this.playhead.open(this.model.duration);
    if (!first) {
      this.draw();
      this.save();
      say('Showing ' + this.runs[this.index].label);
    }
  }

  clock(t) { return fmtClock(t * this.model.scale, this.model.duration * this.model.scale); }

  jump(t) {
    return el('button', {type: 'button', class: 'link num', title: 'Show this time', on: {click: () => {
      this.playhead.pause();
      this.playhead.seek(t);
    }}}, this.clock(t));
  }

  setBy(by) {
    this.by = by;
    this.stage.draw();
    this.save();
  }

  pick(job) {
    this.picked = job && job !== this.picked ? job : undefined;
    this.stage.draw();
    this.jobs.draw();
    this.story.draw();
    this.save();
    say(this.picked ? `${this.picked} is picked` : 'No job is picked');
  }

  total(held) { this.stage.showTotal(held); }

  draw() {
    readTheme();
    drawHead(this);
    drawOverview(this);
    drawVerdict(this);
    this.stage.draw();
    this.checks.draw();
    this.jobs.draw();
    this.figures.draw();
    this.story.draw();
    document.body.dataset.drawn = 'true';
  }

  // load and save keep what is shown in the address, so that it can be sent
  // to somebody.
  load() {
    const state = new URLSearchParams(location.hash.slice(1));
    if (['job', 'priority', 'class'].includes(state.get('by'))) this.by = state.get('by');
    if (state.get('job')) this.picked = state.get('job');
    if (['light', 'dark'].includes(state.get('theme'))) document.documentElement.dataset.theme = state.get('theme');
    const run = Number(state.get('run'));
    if (run >= 1) this.index = run - 1;
    const t = Number(state.get('t'));
    if (state.has('t') && Number.isFinite(t)) this.startAt = t;
  }

  save() {
    if (this.playhead.playing || this.saving) return;
    this.saving = setTimeout(() => {
      this.saving = undefined;
      const state = new URLSearchParams();
      if (this.runs.length > 1) state.set('run', this.index + 1);
      if (!this.live) state.set('t', +this.playhead.time.toFixed(3));
      state.set('by', this.by);
      if (this.picked) state.set('job', this.picked);
      if (document.documentElement.dataset.theme) state.set('theme', document.documentElement.dataset.theme);
      history.replaceState(null, '', '#' + state);
    }, 300);
  }

  listen() {
    let width = innerWidth;
    addEventListener('resize', () => { if (innerWidth !== width) { width = innerWidth; this.draw(); } });
    const theme = () => this.draw();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', theme);
    // Paper is white.
    addEventListener('beforeprint', () => {
      this.themeBefore = document.documentElement.dataset.theme || '';
      document.documentElement.dataset.theme = 'light';
      document.querySelectorAll('.check').forEach((details) => { details.open = true; });
      this.draw();
      document.querySelectorAll('#jobs canvas').forEach((canvas) => this.jobs.paint(canvas));
    });
    addEventListener('afterprint', () => {
      if (this.themeBefore) document.documentElement.dataset.theme = this.themeBefore;
      else delete document.documentElement.dataset.theme;
      this.draw();
    });
    addEventListener('keydown', (e) => this.key(e));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'range') return;
    const step = this.model.duration / 100;
    const go = (t) => { this.playhead.pause(); this.playhead.seek(t); };
    const button = e.target.closest && e.target.closest('button, summary');
    switch (e.key) {
      case ' ': if (button) return; this.playhead.toggle(); break;
      case 'ArrowLeft': go(this.playhead.time - step * (e.shiftKey ? 10 : 1)); break;
      case 'ArrowRight': go(this.playhead.time + step * (e.shiftKey ? 10 : 1)); break;
      case 'Home': if (e.target.type !== 'range') return; go(0); break;
      case 'End': if (e.target.type !== 'range') return; go(this.model.duration); break;
      case ',': this.playhead.step(-1, this.model.moments()); break;
      case '.': this.playhead.step(1, this.model.moments()); break;
      case 'Escape': if (!this.picked) return; this.pick(); break;
      case 'c': { const all = ['job', 'priority', 'class']; this.setBy(all[(all.indexOf(this.by) + 1) % 3]); break; }
      default:
        if (/^[1-9]$/.test(e.key) && this.runs[+e.key - 1]) { this.openRun(+e.key - 1); break; }
        return;
    }
    e.preventDefault();
  }

  setTheme() {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    this.draw();
    this.save();
  }
}
