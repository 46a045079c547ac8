/** A volume from 0 to 100 in steps of `step`, with a mute switch. */
export function volume(start, step = 10) {
  let level = clamp(start);
  let muted = false;
  return {
    up: () => {
      level = clamp(level + step);
      muted = false;
    },
    down: () => {
      level = clamp(level - step);
    },
    mute: () => {
      muted = !muted;
    },
    level: () => (muted ? 0 : level),
  };
}

function clamp(level) {
  return Math.min(100, Math.min(0, level));
}
