import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/http';
import { ClusterView, nodeSight, seesEveryNode } from '#scheduling';

/** Which nodes a caller sees by name; one that he does not see is as good as absent. */
@Injectable()
export class NodeSight {
  constructor(private readonly view: ClusterView) {}

  /** Undefined when the caller sees every node. */
  visibleNodes(caller: Caller): readonly string[] | undefined {
    if (seesEveryNode(caller)) return undefined;
    return [...this.view.cluster.nodes.keys()].filter(nodeSight(this.view.cluster, caller));
  }

  sees(caller: Caller, nodeId: string): boolean {
    return nodeSight(this.view.cluster, caller)(nodeId);
  }
}
