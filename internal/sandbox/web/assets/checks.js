// What had to hold, what did not, and how it compares with other runs.

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
      parts.push(el('h2', null, 'Beside what was measured elsewhere'), table('Comparison with the reference', [['Measure', 'Reference', ...arms.map((run) => run.label)], ...rows]));
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
