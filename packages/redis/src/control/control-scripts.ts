/// <reference path="../lua.d.ts" />
/** A store without a control does not load these scripts. */

import { scriptOf } from '../codec/script.js';
import follow from '../lua/control-follow.lua';
import followers from '../lua/control-followers.lua';
import history from '../lua/control-history.lua';
import keep from '../lua/control-keep.lua';
import read from '../lua/control-read.lua';
import write from '../lua/control-write.lua';
import { LimiterScripts } from './tagged-scripts.js';

export class ControlScripts extends LimiterScripts {
  private readonly reading = scriptOf(read);
  private readonly writing = scriptOf(write);
  private readonly keeping = scriptOf(keep);
  private readonly telling = scriptOf(history);
  private readonly following = scriptOf(follow);
  private readonly counting = scriptOf(followers);

  private readonly settings = this.keyOf('settings');
  private readonly revision = this.keyOf('revision');
  private readonly changes = this.keyOf('history');
  private readonly processes = this.keyOf('followers');
  private readonly dataSet = this.keyOf('dataset');
  private readonly kept = this.keyOf('kept');

  readSettings(knownRevision: string, follower: string): Promise<unknown> {
    const { settings, revision, dataSet, kept, processes } = this;
    const keys = [settings, revision, dataSet, kept, processes];
    return this.runScript(this.reading, keys, [knownRevision, follower]);
  }

  writeSettings(args: string[]): Promise<unknown> {
    const { settings, revision, changes, dataSet, kept } = this;
    return this.runScript(this.writing, [settings, revision, changes, dataSet, kept], args);
  }

  storeLostSettings(args: string[]): Promise<unknown> {
    return this.runScript(this.keeping, [this.kept, this.revision, this.dataSet], args);
  }

  history(): Promise<unknown> {
    return this.runScript(this.telling, [this.changes], []);
  }

  follow(args: string[]): Promise<unknown> {
    return this.runScript(this.following, [this.processes], args);
  }

  followers(): Promise<unknown> {
    return this.runScript(this.counting, [this.processes, this.revision], []);
  }
}
