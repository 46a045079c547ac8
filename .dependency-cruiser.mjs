// The boundaries of DESIGN.md. Pure: no I/O, and clock, randomness and ids come in as arguments (see also tsconfig.pure.json, which
// takes the types of Node away from these libs, and the override for them in .oxlintrc.json).
const PURE = 'libs/((ledger|verification|evaluation|statistics|protocol|lessons)/|views/src/(?!redis/))';
const PURE_CORE = 'libs/child-run/src/(core|decide|decide-calls|actions|task)[.]ts$';
const TESTS = '[.](unit|int|e2e|stack|testkit)[.]ts$';
/** What a lib offers beside its index: each has a line of its own in the imports of package.json. */
const ENTRIES = '^libs/(child-run/src/core|event-log/src/(kafka|redis)/index|views/src/redis/index)[.]ts$';
const TEST_TREES = '^(test|bench)/';
const NODE_CRYPTO = '^libs/ledger/src/ed25519/node[.]ts$';
/** Bundled facts (shapes and ports) of libs that do I/O: a pure lib may name their types, and no more. */
const SHAPES = '^libs/(contract|event-log|providers)/src/index[.]ts$';

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one file, or miss a third.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'libs-never-import-apps',
      severity: 'error',
      from: { path: '^libs/', pathNot: TESTS },
      to: { path: '^apps/' },
    },
    {
      name: 'apps-meet-only-in-truss',
      comment: 'The services know nothing of one another; the CLI hosts them in one process.',
      severity: 'error',
      from: { path: '^apps/(coordinator|executor|projector)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'only-the-index-of-another-lib',
      comment: 'Import #lib/<name>. Inside a lib import relative.',
      severity: 'error',
      from: { path: '^(?:libs|apps)/([^/]+)/', pathNot: TESTS },
      to: {
        path: '^(libs|apps)/[^/]+/',
        pathNot: ['^(libs|apps)/$1/', '^(libs|apps)/[^/]+/src/index[.]ts$', ENTRIES],
      },
    },
    {
      name: 'tests-import-an-index-or-a-testkit',
      severity: 'error',
      from: { path: '^(?:libs|apps)/([^/]+)/.*[.](unit|int|e2e|stack|testkit)[.]ts$' },
      to: {
        path: '^(libs|apps)/[^/]+/',
        pathNot: ['^(libs|apps)/$1/', '^(libs|apps)/[^/]+/src/index[.]ts$', ENTRIES, '[.]testkit[.]ts$'],
      },
    },
    {
      name: 'testkits-only-from-tests',
      severity: 'error',
      from: { pathNot: [TESTS, TEST_TREES] },
      to: { path: TESTS },
    },
    {
      name: 'pure-libs-no-node',
      comment: 'Pure libs do no I/O. The one exception is the native half of the strict Ed25519 profile.',
      severity: 'error',
      from: { path: [`^${PURE}`, `^${PURE_CORE}`], pathNot: [TESTS, NODE_CRYPTO] },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'ed25519-node-crypto-only',
      severity: 'error',
      from: { path: NODE_CRYPTO },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
    {
      name: 'pure-libs-import-pure-libs',
      comment:
        'Of other libs a pure one may use the pure core of a child run, and the types of contracts and of the event-log port.',
      severity: 'error',
      from: { path: [`^${PURE}`, `^${PURE_CORE}`], pathNot: TESTS },
      to: { path: '^(libs|apps)/', pathNot: [`^${PURE}`, `^${PURE_CORE}`, SHAPES] },
    },
    {
      name: 'pure-libs-only-types-of-shapes',
      severity: 'error',
      from: { path: [`^${PURE}`, `^${PURE_CORE}`], pathNot: TESTS },
      to: { path: SHAPES, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-libs-few-packages',
      comment: 'zod and noble run anywhere.',
      severity: 'error',
      from: { path: [`^${PURE}`, `^${PURE_CORE}`], pathNot: TESTS },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-peer', 'npm-optional'], pathNot: '^node_modules/(zod|@noble)/' },
    },
    {
      name: 'nest-stays-in-shells',
      comment: 'Nest is imported by the services and by the runtime that they share, and nowhere else.',
      severity: 'error',
      from: { path: '^libs/', pathNot: ['^libs/runtime/', TESTS] },
      to: { path: '^node_modules/(@nestjs|rxjs|reflect-metadata)/' },
    },
    {
      name: 'no-dev-dependency-in-the-package',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: TESTS },
      to: { dependencyTypes: ['npm-dev'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^dist/'] },
    exclude: { path: ['^test/fixtures/', '^dist/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['truss-src', 'node', 'import', 'types', 'default'],
    },
  },
};
