/// <reference path="../lua.d.ts" />
/** The scripts that store and read the list of limiters, for stores and controls, and their keys. */

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

  /** The stored entries of the limiters with these names, or of all limiters if there are no names. */
  limiters(names: string[] = [], deadlineUs?: number): Promise<unknown> {
    return this.runScript(this.naming, [this.names], names, deadlineUs);
  }
}
