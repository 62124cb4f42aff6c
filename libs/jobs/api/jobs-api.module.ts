import { Module } from '@nestjs/common';
import { JobsWriteModule } from '../write/jobs-write.module.js';
import { AuditController } from './audit/audit.controller.js';
import { AuditResolver } from './audit/audit.resolver.js';
import { DecisionAudit } from './audit/decision-audit.js';
import { Verification } from './audit/verification.js';
import { Explanations } from './explain/explanations.js';
import { ExecutionLogs } from './logs/execution-logs.js';
import { JobAccess } from './job-access.js';
import { JobChanges } from './job-changes.js';
import { JobReader } from './job-reader.js';
import { JobViewsController } from './job-views.controller.js';
import { JobsController } from './jobs.controller.js';
import { JobsResolver } from './jobs.resolver.js';
import { KnownInputs } from './known-inputs.js';
import { LogsController } from './logs/logs.controller.js';
import { Parents } from './parents.js';
import { QueueOrder } from './queue-order.js';
import { ReportsController } from './reports.controller.js';
import { JobSubmissions } from './submission.js';

@Module({
  imports: [JobsWriteModule],
  controllers: [JobsController, JobViewsController, LogsController, ReportsController, AuditController],
  providers: [
    JobSubmissions,
    JobReader,
    KnownInputs,
    Parents,
    JobAccess,
    JobChanges,
    ExecutionLogs,
    JobsResolver,
    DecisionAudit,
    Verification,
    Explanations,
    QueueOrder,
    AuditResolver,
  ],
})
export class JobsApiModule {}
