import { library } from '../../tools/tsdown.js';

export default library([
  'index',
  'store',
  'adapter',
  'node',
  'fetch',
  'control',
  'direct',
  'algorithms',
  'compare',
  'who',
  'testing',
]);
