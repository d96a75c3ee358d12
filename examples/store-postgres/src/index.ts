export { fromPool, type Pool } from './from-pool.js';
export {
  CLEAN,
  type Connection,
  type Database,
  postgresBackend,
  postgresStore,
  TABLE,
} from './postgres-store.js';
