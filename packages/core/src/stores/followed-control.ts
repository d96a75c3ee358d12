/** A control as the users of a store obey it: a mistake in it is a fault, and what it changes is forgotten. */

import type { Control } from '../contract/control.js';
import type { StepContext } from '../contract/limiter.js';
import { checkedControl } from '../control/checked-control.js';
import { Resets } from './resets.js';
import type { StoreClient } from './store-client.js';

export function followed(
  control: Control,
  client: StoreClient,
  context: Pick<StepContext, 'fault'>,
): Control {
  const resets = new Resets(control, client);
  return checkedControl(control, context, (limiter) => {
    client.forgetAll();
    try {
      resets.follow(limiter);
    } catch (error) {
      context.fault({ limiter, source: 'control', error });
    }
  });
}
