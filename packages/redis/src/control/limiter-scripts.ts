/// <reference path="../lua.d.ts" />

import { scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import limiters from '../lua/control-limiters.lua';
import { TaggedScripts } from './tagged-scripts.js';

export class LimiterScripts extends TaggedScripts {
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);
  private readonly names = this.keyOf('limiters');

  announce(args: string[]): Promise<unknown> {
    return this.runScript(this.announcing, [this.names], args);
  }

  limiters(names: string[] = [], deadlineUs?: number): Promise<unknown> {
    return this.runScript(this.naming, [this.names], names, deadlineUs);
  }
}
