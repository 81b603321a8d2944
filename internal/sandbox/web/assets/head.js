// The head of the page, the result, and the foot.

const drawHead = (app) => {
  const {model, runs} = app, {rec} = model;
  const gpuNodes = rec.nodes.filter((node) => node.gpus > 0).length;
  const facts = [`${plural(gpuNodes, 'node')} with ${plural(model.capacity, 'GPU')}`,
    rec.queues.length ? plural(rec.queues.length, 'queue') + ': ' + rec.queues.map((q) => `${q.name} (${q.gpus})`).join(', ') : '',
    plural(rec.jobs.length, 'job'), app.live ? '' : `${fmtDuration(rec.duration)} of run`,
    model.scale !== 1 ? `1 s stands for ${fmtDuration(model.scale)}; times are of the story` : '',
    rec.manager.version ? `${rec.manager.name}: ${rec.manager.version}` : '',
    (rec.manager.gates || []).length ? 'gates ' + rec.manager.gates.join(', ') : ''].filter(Boolean);
  const drawn = [isDark(), app.index, rec.title, rec.description, ...facts].join('\n');
  if (drawn === app.headDrawn) return;
  app.headDrawn = drawn;
  const choose = runs.length < 2 ? null : runs.length <= 4
    ? el('div', {class: 'choice arms', role: 'group', 'aria-label': 'Run'}, runs.map((run, i) => el('button', {type: 'button', 'aria-pressed': String(i === app.index), on: {click: () => app.openRun(i)}},
      el('span', {class: 'mark ' + (run.figures.passed ? 'good' : 'bad'), 'aria-hidden': 'true'}, run.figures.checks === 0 && run.figures.passed ? '' : run.figures.passed ? '✓ ' : '✗ '), run.label)))
    : el('select', {'aria-label': 'Run', on: {change: (e) => app.openRun(+e.target.value)}}, runs.map((run, i) => el('option', {value: i, selected: i === app.index}, (run.figures.passed ? '✓ ' : '✗ ') + run.label)));
  const focus = document.activeElement && document.activeElement.closest('#head') ? [...byId('head').querySelectorAll('button, select')].indexOf(document.activeElement) : -1;
  fill(byId('head'),
    el('div', {class: 'head-line'}, el('h1', null, rec.title || rec.scenario),
      el('div', {class: 'head-tools'}, el('span', {id: 'link', class: 'badge', hidden: true, role: 'status'}),
        el('button', {type: 'button', class: 'theme', 'aria-label': isDark() ? 'Light theme' : 'Dark theme', title: isDark() ? 'Light theme' : 'Dark theme', on: {click: () => app.setTheme()}}, isDark() ? '☀' : '☾'))),
    rec.description ? el('p', {class: 'lead'}, rec.description) : null,
    el('p', {class: 'facts'}, facts.join(' · ')), choose);
  if (focus >= 0) { const list = byId('head').querySelectorAll('button, select'); if (list[focus]) list[focus].focus(); }
  if (app.link) app.link.show();
  fill(byId('foot'), el('p', null, 'A GPU counts as held from the binding of its pod until the pod is gone. Slots of a node show how many GPUs a pod holds, not which.'),
    el('p', {class: 'keys'}, 'Keys: ', [['space', 'play'], ['← →', 'move'], [', .', 'change before, next'], ['c', 'colours'], ['1 – 9', 'run'], ['esc', 'unpick']].map(([key, text]) => [el('kbd', null, key), ' ' + text + '  '])));
};

// drawVerdict shows the result and the figures that one looks at first, with
// those of the other runs below.
const drawVerdict = (app) => {
  const {model, runs} = app, run = model.run, f = run.figures;
  const others = runs.filter((o) => o !== run && o.recording.scenario === run.recording.scenario).slice(0, 3);
  const time = gpuTime(Math.max(...[run, ...others].map((r) => r.figures.hours)));
  const lost = (x) => x.lost.draining + x.lost.startingAgain + x.lost.redone;
  const waits = (x) => { const list = Object.values(x.waits || {}); const n = list.reduce((s, w) => s + w.jobs, 0); return n ? list.reduce((s, w) => s + w.meanTotal * w.jobs, 0) / n : 0; };
  const tile = (name, write) => el('div', {class: 'tile'}, el('div', {class: 'tile-name', title: name}, name), el('div', {class: 'tile-value num'}, write(f)),
    others.map((o) => el('div', {class: 'tile-other'}, el('span', null, o.arm), ' ', el('span', {class: 'num'}, write(o.figures)))));
  const state = f.passed ? (f.checks ? 'PASSED' : app.live ? 'RUNNING' : 'Not checked') : 'FAILED';
  const seen = app.live ? '' : f.checks ? `${f.checksPassed} of ${f.checks} checks` : 'no checks';
  fill(byId('verdict'),
    el('div', {class: 'tile verdict ' + (f.passed ? (f.checks ? 'good' : '') : 'bad')}, el('div', {class: 'tile-name'}, run.recording.manager.name), el('div', {class: 'tile-value'}, state),
      el('div', {class: 'tile-other'}, [seen, f.violations ? plural(f.violations, 'violated invariant') : ''].filter(Boolean).join(', '))),
    tile('GPUs held, mean', (x) => fmtPercent(x.capacity ? x.meanGPUs / x.capacity : 0)),
    tile(time.unit + ' held', (x) => time.write(x.heldHours)),
    tile(time.unit + ' idle', (x) => time.write(x.idleHours)),
    tile('evictions', (x) => Object.values(x.evictions || {}).reduce((a, b) => a + b, 0)),
    tile(time.unit + ' lost', (x) => time.write(lost(x))),
    tile('mean wait of a job', (x) => fmtDuration(waits(x))));
};
