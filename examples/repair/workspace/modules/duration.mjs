/** Seconds as h:mm:ss, or m:ss below one hour; fractions are dropped. */
export function formatDuration(seconds) {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.round((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, '0');
  if (hours === 0) return `${minutes}:${rest}`;
  return `${hours}:${String(minutes).padStart(2, '0')}:${rest}`;
}

/** The seconds of h:mm:ss, m:ss or s. */
export function parseDuration(text) {
  return text.split(':').reduce((total, part) => total * 60 + Number(part), 0);
}
