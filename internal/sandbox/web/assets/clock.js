// The playhead: the time that all parts of the page show.

class Playhead {
  constructor() {
    this.time = 0;
    this.playing = false;
    this.rate = 1;
    this.follows = false; // Sticks to the end of a live run.
    this.listeners = [];
  }

  on(listener) { this.listeners.push(listener); }

  changed() { for (const listener of this.listeners) listener(this.time); }

  // open starts on another run, at the same share of its length.
  open(duration) {
    const share = this.duration ? this.time / this.duration : 0;
    this.duration = duration;
    this.time = share * duration;
  }

  // extend makes a live run longer.
  extend(duration) {
    this.duration = duration;
    if (this.follows) this.time = duration;
    this.changed();
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.duration);
    this.follows = false;
    this.changed();
  }

  follow() {
    this.playing = false;
    this.follows = true;
    this.time = this.duration;
    this.changed();
  }

  // A whole run plays in about half a minute at rate 1, a short one at its own pace.
  speed() { return this.rate * Math.max(1, this.duration / 30); }

  toggle() {
    this.playing = !this.playing;
    if (!this.playing) return this.changed();
    this.follows = false;
    if (this.time >= this.duration) this.time = 0;
    let last;
    const frame = (now) => {
      if (!this.playing) return;
      if (last !== undefined) this.time = Math.min(this.duration, this.time + (now - last) / 1000 * this.speed());
      last = now;
      if (this.time >= this.duration) this.playing = false;
      this.changed();
      if (this.playing) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    this.changed();
  }

  pause() { if (this.playing) this.toggle(); }

  // step goes to the next or the last moment at which something changed.
  step(direction, moments) {
    this.pause();
    const eps = 1e-6;
    const next = direction > 0 ? moments.find((m) => m > this.time + eps) : moments.findLast((m) => m < this.time - eps);
    this.seek(next === undefined ? (direction > 0 ? this.duration : 0) : next);
  }
}
