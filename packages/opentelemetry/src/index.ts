/**
 * @spillway/opentelemetry: decisions of guards, health of the store and load shedding, as OpenTelemetry metrics.
 */

export {
  type OpenTelemetryObserver,
  type OpenTelemetryOptions,
  openTelemetryObserver,
} from './observer.js';
