import type { ExecutionContext } from '@nestjs/common';

/** `judged`: decided. `deferred`: the guard leaves the decision to the interceptor, which also sees the call end. */
type Stage = 'judged' | 'deferred' | undefined;

// In the global symbol registry, because another copy of this package must see the mark, too.
const STAGE = Symbol.for('spillway.nestjs.stage');

/** The stage is stored on the argument list, the only object that all guards and interceptors of a call share. */
type Arguments = unknown[] & { [STAGE]?: Stage };

export function stageOf(context: ExecutionContext): Stage {
  return context.getArgs<Arguments>()[STAGE];
}

export function setStage(context: ExecutionContext, stage: Stage): void {
  context.getArgs<Arguments>()[STAGE] = stage;
}
