/** @spillway/core/algorithms: algorithms by name, for configuration files. */

export { algorithmByName } from './algorithms/by-name.js';
