/** Notes on a call how far it has come, so that it is judged once however often guards and interceptors are bound. */

import type { ExecutionContext } from '@nestjs/common';

/** `deferred`: by the guard, to the interceptor, which sees the end of the call too. */
type Stage = 'judged' | 'deferred' | undefined;

// A registered symbol: another copy of this package sees it too.
const STAGE = Symbol.for('spillway.nestjs.stage');

/** The list of arguments is the one thing that the guards and the interceptors of a call share. */
type Arguments = unknown[] & { [STAGE]?: Stage };

export function stageOf(context: ExecutionContext): Stage {
  return context.getArgs<Arguments>()[STAGE];
}

export function setStage(context: ExecutionContext, stage: Stage): void {
  context.getArgs<Arguments>()[STAGE] = stage;
}
