// The body of POST /v1/templates: what a caller wants, checked and bounded. Whether there is such a
// base, and how many a project may have, is the book's.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/template.h"
#include "store/key.h"
#include "store/template_record.h"

namespace glovebox::templates {

// {name, from, description?, env?, preload?, profile?} or {name, snapshot, description?}. The
// definition has no id yet, and of a snapshot nothing; packages are those of the profile.
Result<store::TemplateRecord> parse_template_request(std::string_view body);

// A key cannot make a template that it could not run, nor one whose zygote has more memory than all
// its runs together. kPolicy. `base` may be null: then there is none of that name.
Result<> check_memory_of(const store::KeyLimits& key, const TemplateDefinition& wanted,
                         const Template* base);

}  // namespace glovebox::templates
