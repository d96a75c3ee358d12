/** @spillway/core/algorithms: algorithms by name, for configurations that are read from a file. */

export { algorithmByName } from './algorithms/rules.js';
