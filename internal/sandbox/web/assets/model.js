// The model answers questions about a recording at a time.

const OUTSIDE = 'outside the queue';
const NONE = 'none';

const natural = (a, b) => a.localeCompare(b, 'en', {numeric: true});

class Model {
  constructor(run) {
    const rec = run.recording;
    for (const list of ['nodes', 'queues', 'jobs', 'workloads', 'pods', 'events', 'checks', 'comparisons', 'violations']) rec[list] = rec[list] || [];
    this.run = run;
    this.rec = rec;
    this.duration = Math.max(rec.duration, 1e-3);
    this.scale = rec.timeScale > 0 ? rec.timeScale : 1;
    // As they stand in the racks, not as they were seen.
    const place = (node) => [node.block || '', node.rack || '', node.name].join('\n');
    this.gpuNodes = rec.nodes.filter((node) => node.gpus > 0).sort((a, b) => natural(place(a), place(b)));
    this.capacity = rec.nodes.reduce((sum, node) => sum + node.gpus, 0);
    this.jobs = new Map(rec.jobs.map((job) => [job.name, job]));
    this.figures = new Map(((run.figures && run.figures.jobs) || []).map((f) => [f.name, f]));
    this.workloadsOf = groupBy(rec.workloads, (wl) => wl.job);
    this.podsOf = groupBy(rec.pods, (pod) => pod.job || '');
    this.groupPriority = new Map(rec.workloads.filter((wl) => wl.group).map((wl) => [wl.job + '\n' + wl.group, wl.priority]));
    this.placeSlots();
    const gpuPods = rec.pods.filter((pod) => pod.gpus > 0 && pod.bound !== undefined);
    const named = (of) => [...new Set([...rec.jobs.map(of), ...gpuPods.map((pod) => of(this.jobs.get(pod.job) || {}))])].filter(Boolean);
    this.priorities = named((job) => job.priority || NONE).sort(natural);
    const hours = (run.figures && run.figures.byClass) || {};
    this.classes = named((job) => job.class || NONE).sort((a, b) => (hours[b] || 0) - (hours[a] || 0) || natural(a, b));
    this.colors = new Colors(this);
  }

  key(by, pod) {
    if (!pod.job) return OUTSIDE;
    if (by === 'job') return pod.job;
    const job = this.jobs.get(pod.job) || {};
    if (by === 'class') return job.class || NONE;
    return this.groupPriority.get(pod.job + '\n' + pod.group) || job.priority || NONE;
  }

  goneAt(pod) { return pod.gone === undefined ? Infinity : pod.gone; }

  // placeSlots gives each pod the slots of its node that it holds: the lowest
  // that are free side by side, else any. What does not fit goes on top.
  placeSlots() {
    this.nodePods = groupBy(this.rec.pods.filter((pod) => pod.bound !== undefined && pod.node), (pod) => pod.node);
    for (const node of this.rec.nodes) {
      const until = new Array(node.gpus).fill(-Infinity);
      const pods = (this.nodePods.get(node.name) || []).filter((pod) => pod.gpus > 0);
      pods.sort((a, b) => a.bound - b.bound);
      for (const pod of pods) {
        pod.slots = findSlots(until, pod.bound, pod.gpus);
        pod.slots.forEach((slot) => { until[slot] = Math.max(until[slot] === undefined ? -Infinity : until[slot], this.goneAt(pod)); });
      }
    }
  }

  phase(pod, t) {
    if (pod.stopping !== undefined && pod.stopping <= t) return 'draining';
    if (pod.ready === undefined || pod.ready > t) return 'starting';
    if ((pod.unready || []).some((u) => u.from <= t && (u.to === undefined || t < u.to))) return 'unready';
    return 'ready';
  }

  podsAt(t) { return this.rec.pods.filter((pod) => pod.bound !== undefined && pod.bound <= t && t < this.goneAt(pod)); }

  // fullest is the first time at which most GPUs are held.
  fullest() {
    const changes = [];
    for (const pod of this.rec.pods) {
      if (pod.bound === undefined || !pod.gpus) continue;
      changes.push([pod.bound, pod.gpus], [this.goneAt(pod), -pod.gpus]);
    }
    changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let held = 0, most = 0, time = 0;
    for (const [at, gpus] of changes) {
      held += gpus;
      if (held > most) { most = held; time = at; }
    }
    return time;
  }

  awayAt(node, t) { return (node.away || []).find((a) => a.from <= t && (a.to === undefined || t < a.to)); }

  // heldAt is the GPUs held by key, as a Map, and their sum.
  heldAt(t, by) {
    const held = new Map();
    let total = 0;
    for (const pod of this.podsAt(t)) {
      if (!pod.gpus) continue;
      const key = this.key(by, pod);
      held.set(key, (held.get(key) || 0) + pod.gpus);
      total += pod.gpus;
    }
    return {held, total};
  }

  spanAt(wl, t) { return (wl.spans || []).find((span) => span.from <= t && (span.to === undefined || t < span.to)); }

  // queueAt lists the Workloads that wait or drain, the most important and
  // oldest first. A growth asks for what it adds to the slice it replaces.
  queueAt(t) {
    const entries = [];
    for (const wl of this.rec.workloads) {
      const span = this.spanAt(wl, t);
      if (!span || span.state === 'admitted' || span.state === 'done') continue;
      const job = this.jobs.get(wl.job) || {};
      const before = wl.replaces && (this.workloadsOf.get(wl.job) || []).find((other) => other.name === wl.replaces);
      const held = before && this.spanAt(before, t);
      entries.push({
        wl, span, job: wl.job, priority: wl.priority || job.priority || NONE,
        growsFrom: held && held.state === 'admitted' ? held.gpus : undefined,
        since: this.since(wl, span),
      });
    }
    const drains = (e) => e.span.state === 'draining';
    return entries.sort((a, b) => drains(a) - drains(b) || natural(a.priority, b.priority) || a.since - b.since || natural(a.wl.name, b.wl.name));
  }

  // since is when a Workload came into the state of a span.
  since(wl, span) {
    let from = span.from;
    for (let i = wl.spans.indexOf(span) - 1; i >= 0 && wl.spans[i].state === span.state; i--) from = wl.spans[i].from;
    return from;
  }

  // bins are the mean GPUs held by key in n parts of the run.
  bins(by, n) { return this.fillBins(this.rec.pods.filter((pod) => pod.gpus && pod.bound !== undefined).map((pod) => [this.key(by, pod), pod.bound, Math.min(this.goneAt(pod), this.duration), pod.gpus]), n); }

  // waitingBins are the mean GPUs that wait, by priority.
  waitingBins(n) {
    const parts = [];
    for (const wl of this.rec.workloads) {
      const job = this.jobs.get(wl.job) || {};
      const before = wl.replaces && (this.workloadsOf.get(wl.job) || []).find((other) => other.name === wl.replaces);
      for (const span of wl.spans || []) {
        if (span.state !== 'pending' && span.state !== 'backing-off') continue;
        const held = before && this.spanAt(before, span.from);
        const gpus = span.gpus - (held && held.state === 'admitted' ? held.gpus : 0);
        if (gpus > 0) parts.push([wl.priority || job.priority || NONE, span.from, span.to === undefined ? this.duration : span.to, gpus]);
      }
    }
    return this.fillBins(parts, n);
  }

  fillBins(parts, n) {
    const width = this.duration / n;
    const bins = new Map();
    for (const [key, from, to, gpus] of parts) {
      let bin = bins.get(key);
      if (!bin) bins.set(key, bin = new Float64Array(n));
      for (let i = Math.max(0, Math.floor(from / width)); i < n && i * width < to; i++) {
        bin[i] += gpus * Math.max(0, Math.min(to, (i + 1) * width) - Math.max(from, i * width)) / width;
      }
    }
    return bins;
  }

  // moments are the times at which something changed, for stepping.
  moments() {
    if (!this.momentList) {
      const times = new Set();
      for (const event of this.rec.events) times.add(event.at);
      for (const wl of this.rec.workloads) for (const span of wl.spans || []) times.add(span.from);
      this.momentList = [...times].sort((a, b) => a - b);
    }
    return this.momentList;
  }
}

const groupBy = (list, key) => {
  const groups = new Map();
  for (const item of list) {
    const k = key(item);
    const group = groups.get(k);
    if (group) group.push(item);
    else groups.set(k, [item]);
  }
  return groups;
};

const findSlots = (until, at, n) => {
  for (let from = 0; from + n <= until.length; from++) {
    let run = 0;
    while (run < n && until[from + run] <= at) run++;
    if (run === n) return Array.from({length: n}, (_, i) => from + i);
  }
  const slots = [];
  for (let i = 0; slots.length < n; i++) if (until[i] === undefined || until[i] <= at) slots.push(i);
  return slots;
};
