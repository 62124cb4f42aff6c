export { parsePriority, parseReason, parseRerun, PriorityDto, ReasonDto, RerunDto } from './job-requests.dto.js';
export { JobSpecDto, ResourcesDto } from './job-spec.dto.js';
export { ArtifactDto, ConsumptionDto, parseReport, parseReports } from './report.dto.js';
