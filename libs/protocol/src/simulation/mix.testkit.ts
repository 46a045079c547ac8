import type { Chance } from './random.testkit.js';

/** How a Kafka cluster and the adapter's place in it are. Times in milliseconds. */
export interface KafkaMix {
  readonly ledgerPartitions: number;
  /** Records of a partition in one send, and records that are folded at once. */
  readonly batch: number;
  readonly page: number;
  /** How long the signatures of a page take. */
  readonly foldDelay: number;
  readonly sessionMs: number;
  readonly heartbeatMs: number;
  readonly rebalanceMs: number;
  /** How many folds that nobody uses are kept. */
  readonly idleTails: number;
  /** Chance that a record of `eval.index` takes those before it away. */
  readonly compacts: number;
  /** Commands that nobody wrote a request for. */
  readonly strayCommands: number;
  /** How many lease times such a command waits for one. */
  readonly patience: number;
  /** Mean time between times in which the brokers answer nobody; 0: never. */
  readonly downEvery: number;
}

/** How bad a seed's world is. Every seed draws its own mix (swarm testing), so that no fault hides behind another. Times in milliseconds. */
export interface Mix {
  /** Append as SQLite has it: refused at once instead of superseded. */
  readonly conditional: boolean;
  readonly leaseMs: number;
  readonly latency: number;
  readonly readDelay: number;
  readonly partialReads: number;
  /** Chance that a send lands very late, lands twice, or stands apart from the rest of its batch. */
  readonly late: number;
  readonly twice: number;
  readonly split: number;
  /** Chance that a crash loses what was in flight. */
  readonly lostAtCrash: number;
  /** Mean times between faults of the whole cluster; 0: never. */
  readonly crashEvery: number;
  readonly pauseEvery: number;
  readonly rebalanceEvery: number;
  readonly leasesEmptiedEvery: number;
  readonly clockJumpEvery: number;
  readonly bigJumps: boolean;
  readonly leaseWrong: number;
  readonly leaseFails: number;
  readonly commandTwice: number;
  /** How long a process that lost a partition believes that it still has it. */
  readonly handOver: number;
  readonly requests: number;
  readonly conflict: boolean;
  readonly cancelAt: number | null;
  readonly strayCancel: boolean;
  readonly evaluations: number;
  readonly coordinators: number;
  readonly executors: number;
  readonly projectors: number;
  readonly slots: number;
  readonly commandPartitions: number;
  readonly workMs: number;
  readonly earlyTimers: boolean;
  readonly slowAnswers: boolean;
  readonly faultsUntil: number;
  readonly kafka: KafkaMix | null;
}

export function drawMix(chance: Chance): Mix {
  const mix = drawWorld(chance);
  return chance.chance(0.5) ? mix : onKafka(mix, chance);
}

/** The faults that only one log with a total order has are not Kafka's, and the evaluations are more, so that there is work on several partitions. */
function onKafka(mix: Mix, chance: Chance): Mix {
  return {
    ...mix,
    conditional: false,
    split: 0,
    evaluations: chance.pick([1, 1, 2]),
    kafka: {
      ledgerPartitions: chance.pick([1, 2, 3]),
      batch: chance.pick([1, 3, 100]),
      page: chance.pick([1, 3, 100]),
      foldDelay: chance.pick([1, 5, 40]),
      sessionMs: chance.pick([40, 200, 1000]),
      heartbeatMs: chance.pick([5, 30, 150]),
      rebalanceMs: chance.pick([50, 300]),
      idleTails: chance.pick([0, 1, 64]),
      compacts: chance.pick([0, 0.5, 1]),
      strayCommands: chance.chance(0.2) ? 2 : 0,
      patience: chance.pick([1, 10]),
      downEvery: chance.chance(0.3) ? chance.between(200, 1500) : 0,
    },
  };
}

function drawWorld(chance: Chance): Mix {
  const sometimes = <T>(value: T, otherwise: T, probability = 0.5): T =>
    chance.chance(probability) ? value : otherwise;
  const leaseMs = chance.pick([60, 200, 600]);
  const every = (low: number, high: number) => sometimes(chance.between(low, high), 0, 0.6);
  return {
    conditional: chance.chance(0.15),
    leaseMs,
    latency: chance.pick([2, 10, 60]),
    readDelay: chance.pick([2, 15, 80]),
    partialReads: chance.pick([0, 0.2, 0.6]),
    late: sometimes(chance.pick([0.02, 0.1]), 0),
    twice: sometimes(chance.pick([0.05, 0.3]), 0),
    split: sometimes(0.5, 0),
    lostAtCrash: chance.pick([0, 0.5]),
    crashEvery: every(40, 700),
    pauseEvery: every(40, 700),
    rebalanceEvery: every(40, 700),
    leasesEmptiedEvery: sometimes(chance.between(100, 800), 0, 0.3),
    clockJumpEvery: sometimes(chance.between(100, 800), 0, 0.3),
    bigJumps: chance.chance(0.1),
    leaseWrong: sometimes(0.5, 0, 0.4),
    leaseFails: sometimes(0.2, 0, 0.3),
    commandTwice: sometimes(0.3, 0),
    handOver: chance.pick([0, 50, 800, 4000]),
    requests: chance.pick([1, 2, 3]),
    conflict: chance.chance(0.1),
    cancelAt: sometimes(chance.below(2500), null, 0.25),
    strayCancel: chance.chance(0.1),
    evaluations: sometimes(2, 1, 0.15),
    coordinators: chance.pick([1, 2, 2, 3]),
    executors: chance.pick([1, 2, 2, 3]),
    projectors: chance.pick([1, 2]),
    slots: chance.pick([1, 2, 4]),
    commandPartitions: chance.pick([1, 2, 3]),
    workMs: chance.pick([1, 10, 80]),
    earlyTimers: chance.chance(0.3),
    slowAnswers: chance.chance(0.4),
    faultsUntil: chance.between(500, 5000),
    kafka: null,
  };
}

/** A world in which nothing goes wrong: what it ends with is what every other must end with. */
export const NO_FAULTS: Mix = {
  conditional: false,
  leaseMs: 1000,
  latency: 1,
  readDelay: 1,
  partialReads: 0,
  late: 0,
  twice: 0,
  split: 0,
  lostAtCrash: 0,
  crashEvery: 0,
  pauseEvery: 0,
  rebalanceEvery: 0,
  leasesEmptiedEvery: 0,
  clockJumpEvery: 0,
  bigJumps: false,
  leaseWrong: 0,
  leaseFails: 0,
  commandTwice: 0,
  handOver: 0,
  requests: 1,
  conflict: false,
  cancelAt: null,
  strayCancel: false,
  evaluations: 1,
  coordinators: 1,
  executors: 1,
  projectors: 1,
  slots: 4,
  commandPartitions: 1,
  workMs: 1,
  earlyTimers: false,
  slowAnswers: false,
  faultsUntil: 0,
  kafka: null,
};
