/** Links what uses a store to the control that changes its limits live. */

import { SpillwayError } from '../base/errors.js';
import type { Control } from '../contract/control.js';
import type { ControlLink, LinkedControl } from '../contract/control-link.js';
import type { Fault } from '../contract/observer.js';
import type { StoreClient } from './store-client.js';

/** @throws SpillwayError `SPW_OPTION_INVALID` for a control that has not passed through `liveControl` */
export function linkTo(
  control: Control,
  client: StoreClient,
  context: { fault(fault: Fault): void },
): ControlLink {
  const { link } = control as Partial<LinkedControl>;
  if (typeof link !== 'function') {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      "control must have passed through liveControl of '@spillway/core/control': write liveControl(control)",
    );
  }
  return (control as LinkedControl).link({
    fault: (fault) => context.fault(fault),
    forgetAll: () => client.forgetAll(),
    forgetReset: (limiter, key) => client.forgetReset(limiter, key),
  });
}
