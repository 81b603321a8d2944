// What had to hold, what did not, and how it compares with other runs.

// drawOverview lists the scenarios of a page that has several, with a column
// for each manager. A result opens its run.
const drawOverview = (app) => {
  const scenarios = groupBy(app.runs, (run) => run.recording.scenario);
  const section = byId('overview');
  section.hidden = scenarios.size < 2;
  if (section.hidden) return;
  const managers = [...new Set(app.runs.map((run) => run.recording.manager.name))];
  const result = (run) => {
    const f = run.figures;
    const text = (f.passed ? (f.checks ? '✓ ' : '– ') : '✗ ') + (f.checks ? `${f.checksPassed}/${f.checks}` : 'no checks') + (f.violations ? `, ${f.violations} violated` : '');
    return el('button', {type: 'button', class: 'result ' + (f.passed ? (f.checks ? 'good' : '') : 'bad'), 'aria-label': `${run.label}: ${f.passed ? 'passed' : 'failed'}, ${text.slice(2)}`, 'aria-current': run === app.model.run ? 'true' : undefined,
      on: {click: () => app.openRun(app.runs.indexOf(run))}}, text);
  };
  const passed = app.runs.filter((run) => run.figures.passed).length;
  fill(section, el('details', {open: true}, el('summary', null, el('h2', null, `${scenarios.size} scenarios: ${passed} of ${app.runs.length} runs passed`)),
    table('Pick a result to see its run', [['Scenario', ...managers], ...[...scenarios].map(([name, list]) => [
      el('span', {title: name}, list[0].recording.title || name),
      ...managers.map((manager) => el('span', {class: 'results'}, list.filter((run) => run.recording.manager.name === manager).map(result))),
    ])])));
};

class Checks {
  constructor(app) { this.app = app; }

  draw() {
    const {model, runs} = this.app, {rec} = model;
    const parts = [];
    if (rec.checks.length) {
      const sorted = [...rec.checks].sort((a, b) => a.passed - b.passed);
      parts.push(el('h2', null, `Checks: ${rec.checks.filter((check) => check.passed).length} of ${rec.checks.length} passed`),
        el('div', {class: 'checks'}, sorted.map((check) => this.check(check))));
    }
    if (rec.violations.length) {
      parts.push(el('h2', null, `Violated invariants: ${rec.violations.length}`), el('ul', {class: 'violations'}, rec.violations.slice(0, 100).map((v) =>
        el('li', null, this.app.jump(v.at), ' ', el('b', null, v.rule), ' ', v.detail))));
      if (rec.violations.length > 100) parts.push(el('p', {class: 'more'}, `and ${rec.violations.length - 100} more`));
    }
    const arms = runs.filter((run) => run.recording.scenario === rec.scenario);
    const measures = new Map();
    for (const run of arms) for (const c of run.recording.comparisons || []) measures.set(c.measure + '\n' + c.reference, c);
    if (measures.size) {
      const rows = [...measures.values()].map((c) => [c.measure, c.reference, ...arms.map((run) => ((run.recording.comparisons || []).find((o) => o.measure === c.measure && o.reference === c.reference) || {here: '–'}).here)]);
      parts.push(el('h2', null, 'Beside what was measured elsewhere'), table('Comparison with the reference', [['Measure', 'Reference', ...arms.map((run) => run.arm)], ...rows]));
    }
    const section = byId('checks');
    section.hidden = parts.length === 0;
    fill(section, parts);
  }

  check(check) {
    const line = (name, text) => text ? el('div', {class: 'pair'}, el('dt', null, name), el('dd', null, text)) : null;
    return el('details', {class: check.passed ? 'check good' : 'check bad', open: !check.passed},
      el('summary', null, el('span', {class: 'mark', 'aria-hidden': 'true'}, check.passed ? '✓' : '✗'), check.name, el('span', {class: 'unseen'}, check.passed ? ', passed' : ', failed')),
      el('dl', null, line('wanted', check.want), line('got', check.got)),
      (check.evidence || []).length ? el('ol', {class: 'evidence'}, check.evidence.map((text) => el('li', null, text))) : null);
  }
}
