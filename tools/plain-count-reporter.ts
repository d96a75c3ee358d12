import type { Reporter, TestModule } from 'vitest/node';

/** Closes a run with one line that any machine can read: `N passed, N failed[, N skipped]`. */
export default class PlainCountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let passed = 0;
    let failed = 0;
    let skipped = 0;
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      for (const test of tests) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'skipped') skipped += 1;
        else failed += 1;
      }
      // A file that did not load has no tests to count; it is a failure all the same.
      if (module.state() === 'failed' && tests.every((t) => t.result().state !== 'failed')) {
        failed += 1;
      }
    }
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`\n${passed} passed, ${failed} failed${tail}\n`);
  }
}
