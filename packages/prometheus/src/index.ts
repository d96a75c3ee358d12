/** @spillway/prometheus: decisions of guards, health of the store and load shedding, as prom-client metrics. */

export { type PrometheusObserver, type PrometheusOptions, prometheusObserver } from './observer.js';
