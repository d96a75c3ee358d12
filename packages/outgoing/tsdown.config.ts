import { library } from '../../tools/tsdown.js';

export default library(['index', 'undici']);
