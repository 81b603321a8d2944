// The figures of all runs side by side, and those of a week.

class Figures {
  constructor(app) { this.app = app; }

  rows(arms) {
    const time = gpuTime(Math.max(...arms.map((run) => run.figures.hours)));
    const of = (name, value, write) => [name, ...arms.map((run) => write(value(run.figures, run)))];
    const classes = [...new Set(arms.flatMap((run) => Object.keys(run.figures.byClass || {})))].sort(natural);
    const waits = [...new Set(arms.flatMap((run) => Object.keys(run.figures.waits || {})))].sort(natural);
    const word = (key) => key === NONE ? 'jobs' : key;
    return [
      ['', ...arms.map((run) => run.arm)],
      of('GPUs held, mean', (f) => f, (f) => `${fmtAmount(f.meanGPUs)} (${fmtPercent(f.capacity ? f.meanGPUs / f.capacity : 0)})`),
      of('GPUs held, most', (f) => f.peakGPUs, String),
      ...classes.map((key) => of(`${time.unit} of ${word(key)}`, (f) => (f.byClass || {})[key] || 0, time.write)),
      of(`${time.unit} idle`, (f) => f.idleHours, time.write),
      of(`${time.unit} on nodes away`, (f) => f.awayHours, time.write),
      of('evictions', (f) => Object.entries(f.evictions || {}), (list) => list.map(([reason, n]) => `${n} ${reason}`).join(', ') || '0'),
      of(`${time.unit} lost: draining`, (f) => f.lost.draining, time.write),
      of(`${time.unit} lost: starting again`, (f) => f.lost.startingAgain, time.write),
      of(`${time.unit} lost: work done again`, (f) => f.lost, (lost) => time.write(lost.redone) + (lost.estimated ? ' (estimated)' : '')),
      ...waits.flatMap((key) => [
        of(`first wait of ${word(key)}, mean`, (f) => (f.waits || {})[key], (w) => w ? fmtDuration(w.meanFirst) : '–'),
        of(`first wait of ${word(key)}, longest`, (f) => (f.waits || {})[key], (w) => w ? fmtDuration(w.maxFirst) : '–'),
        of(`all waits of ${word(key)}, mean`, (f) => (f.waits || {})[key], (w) => w ? fmtDuration(w.meanTotal) : '–'),
      ]),
    ];
  }

  draw() {
    const {model, runs} = this.app;
    const arms = runs.filter((run) => run.recording.scenario === model.rec.scenario);
    const rows = this.rows(arms);
    const numbers = rows[0].map((_, i) => i).slice(1);
    const parts = [];
    if (arms.length > 1) parts.push(el('h2', null, 'The runs side by side'), this.small(arms.slice(0, 6)));
    if (arms.some((run) => run.week)) parts.push(...this.week(arms.filter((run) => run.week)));
    parts.push(el('h2', null, 'Figures'), table(arms.length > 1 ? 'All runs side by side' : 'Figures of the run', rows, numbers));
    fill(byId('figures'), parts);
    for (const canvas of byId('figures').querySelectorAll('canvas')) this.drawSmall(canvas);
  }

  // small shows the allocation of each run, on the same scales.
  small(arms) {
    const items = arms.map((run) => {
      const canvas = el('canvas', {role: 'img', 'aria-label': `GPUs held over time in ${run.arm}: on average ${fmtAmount(run.figures.meanGPUs)} of ${run.figures.capacity}`});
      canvas.run = run;
      return el('figure', {class: 'small'}, el('figcaption', null, el('b', null, run.arm), ` ${fmtPercent(run.figures.capacity ? run.figures.meanGPUs / run.figures.capacity : 0)} held on average`), canvas);
    });
    const longest = Math.max(...arms.map((run) => run.recording.duration));
    items.forEach((item) => { item.lastChild.longest = longest; });
    return el('div', {class: 'smalls'}, items);
  }

  drawSmall(canvas) {
    const model = canvas.run === this.app.model.run ? this.app.model : new Model(canvas.run);
    const by = model.classes.join() === NONE ? 'priority' : 'class';
    const width = canvas.parentNode.clientWidth, height = 96, plot = width * model.duration / Math.max(canvas.longest, 1e-3);
    const g = sizeCanvas(canvas, width, height);
    g.fillStyle = cssColor('--slot');
    g.fillRect(0, 0, plot, height);
    const bins = model.bins(by, Math.max(1, Math.floor(plot)));
    drawStack(g, {x: 0, y: 0, w: plot, h: height}, bins, stackOrder(model, by, [...bins.keys()]), Math.max(model.capacity, model.run.figures.peakGPUs), (key) => model.colors.of(by, key));
  }

  week(arms) {
    const {filler, waiting, high} = this.app.page.week || {};
    const above = `time above ${Math.round(100 * high)} %`;
    const of = (name, value) => [name, ...arms.map((run) => value(run.week))];
    const share = (w, gpus) => `${fmtAmount(gpus)} (${fmtPercent(w.capacity ? gpus / w.capacity : 0)})`;
    const filled = (w) => w.spareHours ? w.fillerHours / w.spareHours : 0;
    const rows = [
      ['', ...arms.map((run) => run.arm)],
      of(`mean GPUs without ${filler}`, (w) => share(w, w.meanOthers)),
      of('mean GPUs of all', (w) => share(w, w.meanAll)),
      of(`${above} without ${filler}`, (w) => fmtPercent(w.highOthers)),
      of(`${above} of all`, (w) => fmtPercent(w.highAll)),
      of('GPU-hours left by the others', (w) => fmtAmount(w.spareHours)),
      of(`GPU-hours of ${filler}`, (w) => fmtAmount(w.fillerHours)),
      of('spare capacity filled', (w) => fmtPercent(filled(w))),
      of(`wait of ${waiting}, mean`, (w) => fmtDuration(w.wait.meanFirst)),
      of(`wait of ${waiting}, longest`, (w) => fmtDuration(w.wait.maxFirst)),
      ['the same in time of the run, mean', ...arms.map((run) => fmtDuration(run.week.wait.meanFirst / (run.recording.timeScale || 1)))],
      ['the same in time of the run, longest', ...arms.map((run) => fmtDuration(run.week.wait.maxFirst / (run.recording.timeScale || 1)))],
    ];
    const numbers = rows[0].map((_, i) => i).slice(1);
    return [
      el('h2', null, `How much of the spare capacity ${filler} filled`),
      el('div', {class: 'meters'}, arms.map((run) => el('div', {class: 'meter'}, el('span', null, run.arm),
        el('div', {class: 'meter-track'}, el('div', {class: 'meter-fill', style: {background: this.app.model.colors.of('class', filler), width: Math.min(100, 100 * filled(run.week)) + '%'}})), el('b', {class: 'num'}, fmtPercent(filled(run.week)))))),
      table('The week', rows, numbers),
      el('div', {class: 'pairs'}, arms.map((run) => this.days(run, filler)), arms.map((run) => this.bins(run, filler))),
    ];
  }

  days(run, filler) {
    const {model} = this.app;
    const w = run.week;
    const classes = [...new Set(w.days.flatMap((day) => Object.keys(day.mean)))].sort((a, b) => model.classes.indexOf(a) - model.classes.indexOf(b));
    const bars = el('div', {class: 'days', 'aria-hidden': 'true'}, w.days.map((day, i) => el('div', {class: 'day'},
      el('div', {class: 'day-bar'}, [...classes].reverse().map((key) => el('div', {style: {height: 100 * (day.mean[key] || 0) / Math.max(1, w.capacity) + '%', background: model.colors.of('class', key)}}))),
      el('span', null, 'day ' + (i + 1)))));
    return el('div', {class: 'week-part'}, el('h3', null, `Mean GPUs by day: ${run.arm}`), bars, table('Mean GPUs by day', [
      ['Day', ...classes, `${filler}, most`, 'unallocated'],
      ...w.days.map((day, i) => [i + 1, ...classes.map((key) => fmtAmount(day.mean[key] || 0)), day.maxFiller, fmtAmount(day.unallocated)]),
    ], [...classes.keys()].map((i) => i + 1).concat([classes.length + 1, classes.length + 2])));
  }

  bins(run, filler) {
    return el('div', {class: 'week-part'}, el('h3', null, `What ${filler} held beside the others: ${run.arm}`), table(`Mean GPUs by what the others held`, [
      ['Others held', 'Share of the time', 'Left free by them', filler],
      ...[...run.week.bins].reverse().map((bin) => [bin.to === undefined ? `${bin.from} and more` : `${bin.from} to below ${bin.to}`, fmtPercent(bin.share), fmtAmount(bin.spare), fmtAmount(bin.filler)]),
    ], [1, 2, 3]));
  }
}
