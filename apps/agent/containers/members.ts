import { treeOf } from '../runner/process-table.js';
import type { ProcessInfo } from '../runner/process-table.js';
import { environmentOf, variableMark } from '../runner/task-mark.js';
import type { TaskFolder } from '../runner/task-folder.js';

/**
 * The processes of a task's container, as the machine sees them. The first one, the engine's init, was started with the task's
 * environment and so with its mark, which nothing in the container can take from it; all others descend from it, since what
 * loses its parent there becomes its child. With it the kernel ends them all.
 */
export class ContainerMembers {
  private readonly mark: string;
  private first: Pick<ProcessInfo, 'pid' | 'startTime'> | undefined;

  constructor(
    folder: TaskFolder,
    /** The supervisor, which carries the mark too. */
    private readonly supervisor: number,
  ) {
    this.mark = variableMark(folder);
  }

  /** Those of the table that are in the container; the first one once found is not looked for again. */
  in(table: readonly ProcessInfo[]): ProcessInfo[] {
    this.first ??= this.findFirst(table);
    const { first } = this;
    if (!first) return [];
    return treeOf(table, Number.NaN, ({ pid, startTime }) => pid === first.pid && startTime === first.startTime);
  }

  /** What the job itself started. The init passes on what it is sent, so that it would come twice. */
  withoutFirst(members: readonly ProcessInfo[]): ProcessInfo[] {
    return members.filter(({ pid }) => pid !== this.first?.pid);
  }

  private findFirst(table: readonly ProcessInfo[]): ProcessInfo | undefined {
    const marked = table.filter((each) => this.isMarked(each));
    return marked.find(({ parent }) => !marked.some(({ pid }) => pid === parent));
  }

  private isMarked({ pid, session }: ProcessInfo): boolean {
    return pid !== this.supervisor && session !== this.supervisor && environmentOf(pid).includes(this.mark);
  }
}
