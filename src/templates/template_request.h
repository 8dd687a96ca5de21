// Parses the body of POST /v1/templates, checked and bounded. ProjectTemplates checks whether the
// base exists and how many templates a project may have.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/template.h"
#include "store/key.h"
#include "store/template_record.h"

namespace glovebox::templates {

// {name, from, description?, env?, preload?, profile?} or {name, snapshot, description?}. The
// definition has no id yet and is empty for a snapshot; packages and an image's name come from the
// profile, and with an image `from` is python if it is missing.
Result<store::TemplateRecord> parse_template_request(std::string_view body);

// kPolicy: the key could not run this template, or its zygote would have more memory than all runs
// of the key together. `base` is null if no such template exists; then nothing is checked.
Result<> check_memory_of(const store::KeyLimits& key, const TemplateDefinition& wanted,
                         const Template* base);

}  // namespace glovebox::templates
