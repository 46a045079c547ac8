/**
 * What a change must not fall below (or rise above), as ratios within one run, so that neither a slow machine nor a busy one fails it. They are
 * looser than the goals: they catch a change that makes something a third slower, not one that is measured on a bad day.
 */
export const GATES = [
  {
    name: 'zero-work runs: share of the CPU that is cryptography',
    value: (r) => r.zeroWork.cpuShare,
    goal: 0.5,
    least: 0.42,
  },
  {
    name: 'zero-work runs: rate, of that of the cryptography alone',
    value: (r) => r.zeroWork.rateRatio,
    goal: 0.5,
    least: 0.2,
  },
  {
    name: 'verification: share of the CPU that is crypto.verify',
    value: (r) => r.verification.cpuShare,
    goal: 0.85,
    least: 0.5,
  },
  {
    name: 'verification: rate, of that of crypto.verify alone',
    value: (r) => r.verification.rateRatio,
    goal: 0.85,
    least: 0.3,
  },
  { name: 'truss --help: times an empty Node', value: (r) => r.startUp.ratio, goal: 3, most: 4.5 },
];
