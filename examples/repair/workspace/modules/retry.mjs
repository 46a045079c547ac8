/** The waits in ms before each further attempt: doubling from `base`, none above `cap`, `attempts` attempts in all. */
export function waits({ attempts, base, cap }) {
  const list = [];
  let wait = base;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    list.push(Math.min(wait, cap));
    wait *= 2;
  }
  return list;
}

/** Calls until it succeeds or the attempts are used up; gives {value, attempts} or throws the last error. */
export function retry(call, attempts) {
  for (let attempt = 1; ; attempt++) {
    try {
      return { value: call(attempt), attempts: attempt };
    } catch (error) {
      if (attempt >= attempts || error.fatal === true) throw error;
    }
  }
}
