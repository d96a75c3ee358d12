export * from './clock.js';
export * from './decision.js';
export * from './duration.js';
export * from './errors.js';
export * from './exact.js';
export * from './measure.js';
export * from './rule.js';
export * from './store.js';
