/** @spillway/core/control: building blocks for custom controls of live settings. */

export type {
  ControlLink,
  ControlLinked,
  ControlUser,
  LinkedControl,
  LiveLink,
} from './contract/control-link.js';
export { ActiveOverrides } from './control/active-overrides.js';
export {
  checkClear,
  checkClearKey,
  checkKeyLimits,
  checkKeyOverride,
  checkSet,
  checkSetting,
} from './control/check-change.js';
export { liveControl } from './control/live-control.js';
export {
  type CheckedChange,
  fieldOf,
  MAX_CHANGES,
  MAX_OVERRIDES,
  tooMany,
} from './control/override.js';
export { liveNumbers } from './limits/live-numbers.js';
