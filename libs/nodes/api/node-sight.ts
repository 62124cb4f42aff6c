import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/http';
import { jobIdOfExecution } from '#jobs';
import { ClusterView, jobSight, nodeSight, seesEveryNode } from '#scheduling';
import type { NodeDetails, NodeView } from '../read/index.js';
import type { PoolSight } from './pool-view.js';

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

  ofPools(caller: Caller): PoolSight {
    const { cluster } = this.view;
    return { seesNode: nodeSight(cluster, caller), seesJob: jobSight(cluster, caller) };
  }

  /** A node without the executions and claims of jobs that the caller may not see; counts and sums stay. */
  shown<Node extends NodeView | NodeDetails>(caller: Caller, node: Node): Node {
    const sees = jobSight(this.view.cluster, caller);
    const { reported } = node;
    const executions = reported?.executions?.filter((id) => sees(jobIdOfExecution(id)));
    return {
      ...node,
      reported: reported && { ...reported, ...(executions && { executions }) },
      ...('claims' in node && { claims: node.claims.filter(({ jobId, project }) => sees(jobId, project)) }),
    };
  }
}
