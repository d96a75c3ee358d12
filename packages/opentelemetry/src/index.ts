/**
 * @spillway/opentelemetry: what guards decide, how their store does and how much is shed, as metrics of OpenTelemetry.
 */

export {
  type OpenTelemetryObserver,
  type OpenTelemetryOptions,
  openTelemetryObserver,
} from './observer.js';
