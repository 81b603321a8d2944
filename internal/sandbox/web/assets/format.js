// Writes times and numbers as the text report does.

const pad2 = (n) => String(n).padStart(2, '0');

const fmtDuration = (seconds) => {
  const s = Math.abs(seconds);
  if (s < 0.005) return '0 s';
  if (s < 10) return seconds.toFixed(2) + ' s';
  if (s < 119.95) return seconds.toFixed(1) + ' s';
  if (s < 3599.5) { const w = Math.round(seconds); return Math.floor(w / 60) + ' m ' + pad2(w % 60) + ' s'; }
  if (s < 172770) { const m = Math.round(seconds / 60); return Math.floor(m / 60) + ' h ' + pad2(m % 60) + ' m'; }
  const h = Math.round(seconds / 3600);
  return Math.floor(h / 24) + ' d ' + pad2(h % 24) + ' h';
};

// fmtClock is a time of the story with the digits that its length asks for.
const fmtClock = (seconds, length) => {
  if (length < 120) return seconds.toFixed(length < 20 ? 2 : 1) + ' s';
  const whole = Math.floor(seconds + 1e-6);
  if (length < 3600) return Math.floor(whole / 60) + ':' + pad2(whole % 60);
  if (length < 172800) return Math.floor(whole / 3600) + ':' + pad2(Math.floor(whole / 60) % 60) + ':' + pad2(whole % 60);
  return 'day ' + (Math.floor(whole / 86400) + 1) + ', ' + pad2(Math.floor(whole / 3600) % 24) + ':' + pad2(Math.floor(whole / 60) % 60);
};

const fmtAmount = (value) => {
  const m = Math.abs(value);
  if (m === 0) return '0';
  if (m < 0.0995) return value.toFixed(3);
  if (m < 9.95) return value.toFixed(2);
  if (m < 999.5) return value.toFixed(1);
  return Math.round(value).toLocaleString('en');
};

const fmtPercent = (share) => (100 * share).toFixed(1) + ' %';

// gpuTime names the unit of GPU time that fits a run, and writes hours in it.
const gpuTime = (hours) => hours < 1
  ? {unit: 'GPU-seconds', write: (h) => fmtAmount(h * 3600)}
  : {unit: 'GPU-hours', write: fmtAmount};

// ticks are round times for an axis of the given length, at most about n.
const ticks = (length, n) => {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const step = steps.find((s) => length / s <= n) || length;
  const list = [];
  for (let t = 0; t <= length + 1e-9; t += step) list.push(t);
  return {step, list};
};

const fmtTick = (seconds, step) => {
  if (step >= 86400) return 'day ' + (Math.round(seconds / 86400) + 1);
  if (step >= 3600) return Math.round(seconds / 3600) + ' h';
  if (step >= 60) return Math.round(seconds / 60) + ' m';
  return +seconds.toFixed(1) + ' s';
};

const plural = (n, one, many) => n + ' ' + (n === 1 ? one : many || one + 's');
