/** Parts of ioredis that its types do not declare. */

interface Stream {
  destroy(): void;
  cork?(): void;
  uncork?(): void;
}

interface Node {
  readonly options?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string | null;
    readonly name?: string;
    readonly sentinels?: readonly unknown[] | null;
  };
  readonly stream?: Stream;
}

export interface Inside extends Node {
  /** The addresses that serve each hash slot of a Cluster, master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  nodes?(role: 'all' | 'master'): readonly Node[];
}

export function labelOf(client: object): string {
  const { options, nodes } = client as Inside;
  if (nodes) {
    const masters = (client as Required<Inside>).nodes('master').length;
    return masters === 0 ? 'Redis Cluster' : `Redis Cluster of ${masters}`;
  }
  if (options?.sentinels) return `Redis "${options.name}" behind Sentinel`;
  return `Redis at ${options?.path ?? addressOf(client)}`;
}

export function streamOf(client: object, node: string): Stream | undefined {
  const { nodes, stream } = client as Inside;
  if (!nodes) return stream;
  const all = (client as Required<Inside>).nodes('all');
  return all.find((one) => addressOf(one) === node)?.stream;
}

export function streamsOf(client: object): Stream[] {
  const { nodes } = client as Inside;
  const servers = nodes ? (client as Required<Inside>).nodes('master') : [client as Inside];
  return servers.flatMap(({ stream }) => stream ?? []);
}

function addressOf({ options }: Node): string {
  return `${options?.host ?? 'localhost'}:${options?.port ?? 6379}`;
}
