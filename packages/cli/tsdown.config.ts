import { defineConfig, type UserConfig } from 'tsdown';
import { library } from '../../tools/tsdown.js';

const command: UserConfig = {
  entry: ['src/main.ts'],
  format: ['esm'],
  fixedExtension: false,
  platform: 'node',
  target: 'node20',
  clean: false,
};

export default defineConfig([
  { ...(library(['replay']) as UserConfig), platform: 'node' },
  command,
]);
