import { registerHooks } from 'node:module';

// TypeScript sources name their neighbours by the built file.
registerHooks({
  resolve(specifier, context, next) {
    const own = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
    return next(own ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
await import('./simulate.testkit.ts');
