// One benchmark in a process of its own, which loads nothing else, so that its peak of memory is its own: `node part.mjs NAME JSON` prints JSON.
const PARTS = {
  zeroWork: () => import('./zero-work.mjs').then(({ zeroWork }) => zeroWork),
  cryptoAlone: () => import('./zero-work.mjs').then(({ cryptoAlone }) => cryptoAlone),
  verification: () => import('./verification.mjs').then(({ verification }) => verification),
  rawVerification: () => import('./verification.mjs').then(({ rawVerification }) => rawVerification),
};
const [name, options] = process.argv.slice(2);
const part = await PARTS[name]();
process.stdout.write(JSON.stringify(await part(JSON.parse(options))));
process.exit(0);
