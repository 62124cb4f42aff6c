import type { Readable } from 'node:stream';
import { Body, Controller, HttpCode, Inject, Param, Post, Put, Query, Req } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { toInstant } from '#kernel';
import type { Clock } from '#kernel';
import type { LogAnswer, Report, ReportAnswer } from '#contracts';
import { CurrentCaller, OwnIdempotency, ProblemException, Roles, doneOrThrow, parsed } from '#platform/http';
import type { Caller } from '#platform/http';
import { CLOCK } from '#platform/ports';
import { jobIdOfExecution } from '../domain/events.js';
import { answerReport } from '../domain/report.js';
import { ExecuteJob } from '../write/execute-job.js';
import { parseReport, parseReports } from './dto/index.js';
import { ExecutionLogs } from './logs/execution-logs.js';

/** Where live progress goes: telemetry, not events. */
export const PROGRESS_SINK = Symbol('ProgressSink');
export interface ProgressSink {
  progressed(executionId: string, fraction: number, message: string, diagnostics: object | undefined): void;
}

/** What nodes say of executions. Each report is answered with 200 only after what it changes is on disk. */
@ApiTags('agent')
@Controller('v1')
@OwnIdempotency()
@Roles('node')
export class ReportsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly logs: ExecutionLogs,
    @Inject(PROGRESS_SINK) private readonly progress: ProgressSink,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** One report; its kind stands in the path, the rest in the body. */
  @Post('executions/:id/:type')
  @HttpCode(200)
  async report(
    @Param('id') executionId: string,
    @Param('type') type: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
  ): Promise<ReportAnswer> {
    const fields = body !== null && typeof body === 'object' ? body : {};
    return this.take(parsed(parseReport({ ...fields, executionId, type })), caller);
  }

  /** Several reports, taken in their order; one answer each. */
  @Post('nodes/:id/reports')
  @HttpCode(200)
  async reports(
    @Param('id') nodeId: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
  ): Promise<ReportAnswer[]> {
    if (caller.nodeId !== nodeId)
      throw new ProblemException('WRONG_NODE', `this token does not belong to node ${nodeId}`);
    return Promise.all(parsed(parseReports(body)).map((report) => this.takeOneOf(report, caller)));
  }

  /** Bytes of a log at their offset; what is there already is accepted once, a gap that `gap` does not tell is refused. */
  @Put('executions/:id/logs')
  @HttpCode(200)
  async log(
    @Param('id') executionId: string,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @CurrentCaller() caller: Caller,
  ): Promise<LogAnswer> {
    return this.logs.append(nodeOf(caller), executionId, query, request.body as Readable | undefined);
  }

  /** A refusal of one is its answer, and no reason to send the others again. */
  private async takeOneOf(report: Report, caller: Caller): Promise<ReportAnswer> {
    try {
      return await this.take(report, caller);
    } catch (error) {
      if (!(error instanceof ProblemException) || error.problem.retryable) throw error;
      return { executionId: report.executionId, accepted: false, reason: error.problem.code };
    }
  }

  private async take(report: Report, caller: Caller): Promise<ReportAnswer> {
    const nodeId = nodeOf(caller);
    const at = toInstant(this.clock.now());
    const command = { type: 'ReportExecution' as const, nodeId, report, at };
    const jobId = jobIdOfExecution(report.executionId);
    const outcome = await this.commands.execute(new ExecuteJob(jobId, command, { actor: `node:${nodeId}` }));
    if (outcome.kind === 'rejected' && outcome.rejection.code === 'JOB_NOT_FOUND') {
      return { executionId: report.executionId, accepted: false, reason: 'UNKNOWN_EXECUTION' };
    }
    const answer = answerReport(doneOrThrow(outcome).state, nodeId, report);
    if (report.type === 'progress' && answer.accepted) {
      this.progress.progressed(report.executionId, report.fraction, report.message ?? '', report.diagnostics);
    }
    return answer;
  }
}

const nodeOf = (caller: Caller): string => {
  if (caller.nodeId === undefined) throw new ProblemException('FORBIDDEN', 'an enrolment token cannot report');
  return caller.nodeId;
};
