/** Ends the output of a run with one line that any program can read: `N passed, N failed[, N skipped]`. */

import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** In CI, a skipped test counts as failed, and makes its run fail, because it proves nothing. */
const skipsFail = Boolean(process.env['CI']);

export default class PlainCountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    let passed = 0;
    let failed = errors.length; // errors outside of any test
    const skipped: string[] = [];
    for (const module of modules) {
      let failedHere = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'skipped') skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
        else failedHere += 1;
      }
      // A file that did not load, or whose hooks failed, may have no failed test. It still counts as one failure.
      if (module.state() === 'failed' && failedHere === 0) failedHere = 1;
      failed += failedHere;
    }
    let tail = '';
    if (skipped.length > 0 && skipsFail) {
      process.stdout.write(`\nSkipped, which fails in CI:\n  ${skipped.join('\n  ')}\n`);
      failed += skipped.length;
      process.exitCode = 1;
    } else if (skipped.length > 0) {
      tail = `, ${skipped.length} skipped`;
    }
    process.stdout.write(`\n${passed} passed, ${failed} failed${tail}\n`);
  }
}
