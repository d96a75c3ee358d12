/** @spillway/prometheus: what guards decide, how their store does and how much is shed, as metrics of prom-client. */

export { type PrometheusObserver, type PrometheusOptions, prometheusObserver } from './observer.js';
