/** Which features are on: those that are listed, and `beta` ones for testers. */
export function flags(listed, tester) {
  const on = { search: false, export: false, beta: false };
  for (const name of listed) {
    if (name in on) on[name] = true;
  }
  if (tester === 'yes') on.beta = true;
  return on;
}

/** The share of users, in per cent, for whom a feature is on. */
export function share(users, name) {
  const count = users.filter((user) => user[name]).length;
  return users.length === 0 ? 0 : (count * 100) / users.length;
}
