export { JobListQuery, NoQuery, QueueQuery, readDecision, sinceOf, TimelineQuery } from './job-queries.dto.js';
export { parseBatch, parseCancel, parsePriority, parseReason, parseRerun } from './job-requests.dto.js';
export { parseReport, parseReports } from './report.dto.js';
