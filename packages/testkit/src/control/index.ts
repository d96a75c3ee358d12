import type { Make } from './any-control.js';
import { controlsKeys } from './behaviour-keys.js';
import { controlsLimits } from './behaviour-limits.js';
import { keepsRecords } from './behaviour-records.js';
import { controlsSettings } from './behaviour-settings.js';

export { type AnyControl, ada, byUser, guarded, type Make, two } from './any-control.js';

export function behavesAsControl(make: Make): void {
  controlsSettings(make);
  controlsLimits(make);
  controlsKeys(make);
  keepsRecords(make);
}
