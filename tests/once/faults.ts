/** What went wrong in other libraries for idempotency keys, and the test that fails if it goes wrong here. */

const REPEATS = 'packages/core/test/once/repeats.test.ts';
const RUNNING = 'packages/core/test/once/running.test.ts';
const KEPT = 'packages/core/test/once/kept.test.ts';
const ENDS = 'packages/core/test/once/ends.test.ts';
const MISTAKES = 'packages/core/test/once/mistakes.test.ts';
const CLAIMS = 'packages/core/test/claims.test.ts';
const REDIS = 'packages/redis/test/claims.test.ts';
/** The file with the tests of responses, which each adapter runs. */
const ANSWERS = 'packages/testkit/src/adapters/once-answers.ts';
const LEAVING = 'packages/testkit/src/adapters/once-claims.ts';
const FLEET = 'tests/fleet/once.test.ts';
const HERE = 'tests/once/faults.test.ts';

/** The fault, and the file and name of a test; or why there is none. */
type Fault =
  | readonly [fault: string, file: string, test: string]
  | readonly [fault: string, why: string];

export const FAULTS: readonly Fault[] = [
  // Names of records
  ['a key is one for all callers: another one gets the answer', REPEATS, 'of another caller'],
  ['the caller may be left out', MISTAKES, 'throw where they are wrong: %o'],
  ['a caller who is not known is counted as `anonymous`', MISTAKES, 'is refused: scope gave %s'],
  [
    'the same body under another key, path or caller is refused',
    HERE,
    'is another request under another key',
  ],
  ['short keys are refused', HERE, 'may be short'],
  // Who runs it
  ['two that come at once both run', RUNNING, 'runs once of a hundred that come together'],
  ['two processes both run', REDIS, 'a hundred at once on four connections: one runs it'],
  [
    'what is gone between two looks counts as new, and runs again',
    KEPT,
    'was dropped: it never runs again',
  ],
  [
    'a crash blocks the key for as long as answers are kept',
    ENDS,
    'is free after one lease where its process died',
  ],
  [
    'a client that leaves blocks the key',
    LEAVING,
    'keeps the answer of a handler whose client has gone',
  ],
  ['a slow first attempt overwrites the answer of the next', ENDS, 'overwrites nothing either'],
  ['who has lost a claim frees that of the next', HERE, 'frees nothing that another one has'],
  [
    'a database that cannot lock is offered as a store',
    'a store has to pass the conformance suite, of which `lets one of many ...` is a part',
  ],
  // Answers
  [
    'an answer is sent before it is stored: a repeat in between runs',
    HERE,
    'that was sent before it was stored',
  ],
  ['only what `res.send` was given is kept', ANSWERS, 'gives a repeat %s as the first time'],
  ['bytes become JSON or text', REPEATS, 'is answered with the bytes, whatever they are'],
  ['a stream is held up until it ends', HERE, 'is sent piece by piece'],
  [
    'an error is repeated in another shape',
    ANSWERS,
    'keeps what is answered to an error that is thrown %s',
  ],
  ['an answer other than 2xx frees the key: after a 500 it runs again', KEPT, 'of %i is kept'],
  ['429 and 503 are kept', KEPT, 'of %i is not: the request runs again'],
  [
    'cookies, dates and fields of limits are kept',
    ANSWERS,
    'keeps no cookie, and sends the fields of limits',
  ],
  ['a repeat waits a fixed time', HERE, 'waits for as long as it takes'],
  // When something fails
  ['an error of the store lets the request hang', HERE, 'is refused with 503, and never hangs'],
  ['without the store a memory without bound stands in', CLAIMS, 'nothing counts in its place'],
  [
    'memory grows with what clients send',
    CLAIMS,
    'those that are over make room, however many come',
  ],
  [
    'an option that is undefined replaces a default',
    MISTAKES,
    'keep their defaults where they are undefined',
  ],
  // All together
  [
    'it runs twice where processes are killed',
    FLEET,
    'it runs once, charges once, and all get one answer',
  ],
];
